"""Text generation in memory that the caller owns: Python over sotto.h.

    import sotto

    with sotto.Model.open("demo.sotto") as model, model.session() as session:
        for text in session.stream("Once upon a time", max_tokens=100):
            print(text, end="", flush=True)
"""
from ._callbacks import Piece, Sequence
from ._library import BusyError, ClosedError, SottoError, build_text, version
from .generated.enums import *
from .generated.info import *
from .generated.params import *
from .grammar import Grammar, Matcher, Vocabulary
from .model import Model, isa_name, model_memory_size
from .sampler import Sampler, detect_watermark
from .session import Session

__version__ = "1.0.0"

__all__ = [name for name in dir() if not name.startswith("_")]
