package io.github.sotto;

/** Layers against layers. */
public enum Dola implements Constant {
    OFF(0),
    LOW(1),
    HIGH(2);

    private final int value;

    Dola(int value) {
        this.value = value;
    }

    @Override
    public int value() {
        return value;
    }

    static Dola of(int value) {
        return Constant.find(values(), value);
    }
}
