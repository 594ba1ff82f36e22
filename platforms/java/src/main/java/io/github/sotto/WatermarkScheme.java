package io.github.sotto;

/** Kinds of watermarks. */
public enum WatermarkScheme implements Constant {
    NONE(0),
    LEFT_HASH(1),
    SELF_HASH(2),
    TOURNAMENT(3),
    GUMBEL(4);

    private final int value;

    WatermarkScheme(int value) {
        this.value = value;
    }

    @Override
    public int value() {
        return value;
    }

    static WatermarkScheme of(int value) {
        return Constant.find(values(), value);
    }
}
