package io.github.sotto;

/** Ready-made orders of stages. */
public enum Order implements Constant {
    DEFAULT(0),
    HF(1),
    OPENAI(2);

    private final int value;

    Order(int value) {
        this.value = value;
    }

    @Override
    public int value() {
        return value;
    }

    static Order of(int value) {
        return Constant.find(values(), value);
    }
}
