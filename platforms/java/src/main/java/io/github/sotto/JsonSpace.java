package io.github.sotto;

/** Where JSON may have space. */
public enum JsonSpace implements Constant {
    FLEXIBLE(0),
    COMPACT(1),
    ONE_SPACE(2);

    private final int value;

    JsonSpace(int value) {
        this.value = value;
    }

    @Override
    public int value() {
        return value;
    }

    static JsonSpace of(int value) {
        return Constant.find(values(), value);
    }
}
