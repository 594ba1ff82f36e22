"""Text generation with GPT-2 models: a Python interface to libsotto.

    import sotto

    with sotto.Model.open("demo.sotto") as model, model.session() as session:
        for text in session.stream("Once upon a time", max_tokens=100):
            print(text, end="", flush=True)
"""
from ._callbacks import Piece, Sequence
from ._library import BusyError, ClosedError, SottoError, build_text, version
from .chat import Chat, chat_format_text
from .generated.enums import *
from .generated.info import *
from .generated.params import *
from .grammar import Grammar, Matcher, Vocabulary
from .model import Model, isa_name, model_memory_size
from .sampler import Sampler, detect_watermark
from .session import Session

__version__ = "1.0.0"

__all__ = [
    "BusyError", "Chat", "ChatFormat", "ChatInfo", "ChatParams", "ChatRole", "ClosedError", "Dola", "DraftSource",
    "EarlyStopping", "Feature", "Grammar", "GrammarLanguage", "GrammarParams", "GuideMode", "GuideParams", "Isa",
    "JsonSpace", "LengthNorm", "LogLevel", "Matcher", "MatcherInfo", "MatcherParams", "Model", "ModelInfo",
    "ModelParams", "ModelTextKind", "Order", "Overflow", "Piece", "Pooling", "Preset", "Rerank", "Sampler",
    "SamplerParams", "Score", "SearchMode", "SearchParams", "Selection", "Sequence", "Session", "SessionInfo",
    "SessionParams", "SessionTimings", "SottoError", "SpeculationInfo", "SpeculationParams", "Stage", "Status",
    "StopParams", "TokenFlag", "Vocabulary", "WatermarkParams", "WatermarkResult", "WatermarkScheme", "build_text",
    "chat_format_text", "detect_watermark", "isa_name", "model_memory_size", "version"]
