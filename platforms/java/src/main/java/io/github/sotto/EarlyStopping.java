package io.github.sotto;

/** When beam search ends. */
public enum EarlyStopping implements Constant {
    HEURISTIC(0),
    AT_ONCE(1),
    NEVER(2);

    private final int value;

    EarlyStopping(int value) {
        this.value = value;
    }

    @Override
    public int value() {
        return value;
    }

    static EarlyStopping of(int value) {
        return Constant.find(values(), value);
    }
}
