package io.github.sotto;

/** One step of the sampling chain. */
public enum Stage implements Constant {
    LOGITS_CALLBACK(1),
    BIAS(2),
    SEQUENCE_BIAS(3),
    ALLOWED(4),
    SUPPRESS(5),
    BAD_WORDS(6),
    MIN_TOKENS(7),
    FORCED(8),
    END_DECAY(9),
    REPETITION(10),
    FREQUENCY(11),
    PRESENCE(12),
    NO_REPEAT_NGRAM(13),
    DRY(14),
    TEMPERATURE(15),
    SMOOTHING(16),
    TOP_K(17),
    TOP_P(18),
    MIN_P(19),
    TOP_A(20),
    TAIL_FREE(21),
    TYPICAL(22),
    EPSILON(23),
    ETA(24),
    TOP_N_SIGMA(25),
    TOP_H(26),
    XTC(27),
    WATERMARK(28);

    private final int value;

    Stage(int value) {
        this.value = value;
    }

    @Override
    public int value() {
        return value;
    }

    static Stage of(int value) {
        return Constant.find(values(), value);
    }
}
