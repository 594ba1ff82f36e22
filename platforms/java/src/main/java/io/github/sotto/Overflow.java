package io.github.sotto;

/** What happens when a session is full. */
public enum Overflow implements Constant {
    STOP(0),
    RING(1),
    SHIFT(2);

    private final int value;

    Overflow(int value) {
        this.value = value;
    }

    @Override
    public int value() {
        return value;
    }

    static Overflow of(int value) {
        return Constant.find(values(), value);
    }
}
