package io.github.sotto;

/** How a call or a text ended: negative for a failure, positive for the end of a text. */
public enum Status implements Constant {
    OK(0),
    STOP_END_OF_TEXT(1),
    STOP_MAX_TOKENS(2),
    STOP_CONTEXT_FULL(3),
    STOP_GRAMMAR(4),
    STOP_CALLBACK(5),
    STOP_CANCELLED(6),
    STOP_TOKEN(7),
    STOP_STRING(8),
    STOP_TIME(9),
    STOP_REPETITION(10),
    STOP_BANNED(11),
    INVALID_ARGUMENT(-1),
    INVALID_STATE(-2),
    MEMORY_TOO_SMALL(-3),
    MEMORY_MISALIGNED(-4),
    BUFFER_TOO_SMALL(-5),
    MODEL_CORRUPT(-6),
    MODEL_UNSUPPORTED(-7),
    GRAMMAR_SYNTAX(-8),
    GRAMMAR_DEAD_END(-9),
    GRAMMAR_TOO_LARGE(-10),
    CPU_UNSUPPORTED(-11),
    TEXT_INVALID(-12),
    TOKENIZER_MISSING(-13),
    THREADS_UNAVAILABLE(-14),
    STATE_CORRUPT(-15),
    GRAMMAR_UNSUPPORTED(-16),
    GRAMMAR_CORRUPT(-17),
    UNSUPPORTED(-18),
    INTERNAL(-100);

    private final int value;

    Status(int value) {
        this.value = value;
    }

    @Override
    public int value() {
        return value;
    }

    static Status of(int value) {
        return Constant.find(values(), value);
    }
}
