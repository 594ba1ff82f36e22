package io.github.sotto;

/** How hidden states become an embedding. */
public enum Pooling implements Constant {
    LAST(0),
    MEAN(1);

    private final int value;

    Pooling(int value) {
        this.value = value;
    }

    @Override
    public int value() {
        return value;
    }

    static Pooling of(int value) {
        return Constant.find(values(), value);
    }
}
