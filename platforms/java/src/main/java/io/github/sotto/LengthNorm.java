package io.github.sotto;

/** How scores of unlike lengths compare. */
public enum LengthNorm implements Constant {
    POWER(0),
    GNMT(1);

    private final int value;

    LengthNorm(int value) {
        this.value = value;
    }

    @Override
    public int value() {
        return value;
    }

    static LengthNorm of(int value) {
        return Constant.find(values(), value);
    }
}
