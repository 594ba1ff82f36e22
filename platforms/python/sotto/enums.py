"""The constants of sotto.h. Each enumeration is named after its type there."""
import enum


class Status(enum.IntEnum):
    OK = 0
    STOP_END_OF_TEXT = 1
    STOP_MAX_TOKENS = 2
    STOP_CONTEXT_FULL = 3
    STOP_GRAMMAR = 4
    STOP_CALLBACK = 5
    STOP_CANCELLED = 6
    STOP_TOKEN = 7
    STOP_STRING = 8
    STOP_TIME = 9
    STOP_REPETITION = 10
    STOP_BANNED = 11
    INVALID_ARGUMENT = -1
    INVALID_STATE = -2
    MEMORY_TOO_SMALL = -3
    MEMORY_MISALIGNED = -4
    BUFFER_TOO_SMALL = -5
    MODEL_CORRUPT = -6
    MODEL_UNSUPPORTED = -7
    GRAMMAR_SYNTAX = -8
    GRAMMAR_DEAD_END = -9
    GRAMMAR_TOO_LARGE = -10
    CPU_UNSUPPORTED = -11
    TEXT_INVALID = -12
    TOKENIZER_MISSING = -13
    THREADS_UNAVAILABLE = -14
    STATE_CORRUPT = -15
    GRAMMAR_UNSUPPORTED = -16
    GRAMMAR_CORRUPT = -17
    UNSUPPORTED = -18
    INTERNAL = -100


class LogLevel(enum.IntEnum):
    ERROR = 1
    WARNING = 2
    INFO = 3


class Isa(enum.IntEnum):
    AUTO = 0
    REFERENCE = 1
    AVX2 = 2
    AVX512 = 3
    AVX512VNNI = 4
    NEON = 5
    NEON_DOTPROD = 6
    NEON_I8MM = 7
    AVX512AMX = 8


class Overflow(enum.IntEnum):
    STOP = 0
    RING = 1
    SHIFT = 2


class Feature(enum.IntFlag):
    HIDDEN_HISTORY = 1
    DOLA = 2
    GUIDE = 4


class Stage(enum.IntEnum):
    LOGITS_CALLBACK = 1
    BIAS = 2
    SEQUENCE_BIAS = 3
    ALLOWED = 4
    SUPPRESS = 5
    BAD_WORDS = 6
    MIN_TOKENS = 7
    FORCED = 8
    END_DECAY = 9
    REPETITION = 10
    FREQUENCY = 11
    PRESENCE = 12
    NO_REPEAT_NGRAM = 13
    DRY = 14
    TEMPERATURE = 15
    SMOOTHING = 16
    TOP_K = 17
    TOP_P = 18
    MIN_P = 19
    TOP_A = 20
    TAIL_FREE = 21
    TYPICAL = 22
    EPSILON = 23
    ETA = 24
    TOP_N_SIGMA = 25
    TOP_H = 26
    XTC = 27
    WATERMARK = 28


class Order(enum.IntEnum):
    DEFAULT = 0
    HF = 1
    OPENAI = 2


class Selection(enum.IntEnum):
    MULTINOMIAL = 0
    GREEDY = 1
    GUMBEL = 2
    MIROSTAT = 3
    MIROSTAT_V2 = 4
    ADAPTIVE_P = 5


class WatermarkScheme(enum.IntEnum):
    NONE = 0
    LEFT_HASH = 1
    SELF_HASH = 2
    TOURNAMENT = 3
    GUMBEL = 4


class Dola(enum.IntEnum):
    OFF = 0
    LOW = 1
    HIGH = 2


class Pooling(enum.IntEnum):
    LAST = 0
    MEAN = 1


class GuideMode(enum.IntEnum):
    OFF = 0
    CFG = 1
    CONTRAST = 2


class SearchMode(enum.IntEnum):
    BEAM = 0
    BEAM_SAMPLE = 1
    SAMPLE = 2
    CONTRASTIVE = 3


class EarlyStopping(enum.IntEnum):
    HEURISTIC = 0
    AT_ONCE = 1
    NEVER = 2


class LengthNorm(enum.IntEnum):
    POWER = 0
    GNMT = 1


class Rerank(enum.IntEnum):
    ORDER = 0
    BEST = 1
    EXACT = 2
    NGRAM = 3
    CALLBACK = 4


class GrammarLanguage(enum.IntEnum):
    GBNF = 0
    JSON_SCHEMA = 1
    REGEX = 2
    JSON = 3
    JSON_OBJECT = 4
    CHOICES = 5
    NUMBER = 6
    TOOLS = 7


class JsonSpace(enum.IntEnum):
    FLEXIBLE = 0
    COMPACT = 1
    ONE_SPACE = 2


class Draft(enum.IntFlag):
    LOOKUP = 1
    SESSION = 2
    EARLY_EXIT = 4
    LOOKAHEAD = 8
    CALLBACK = 16
