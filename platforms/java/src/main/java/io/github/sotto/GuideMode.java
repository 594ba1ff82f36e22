package io.github.sotto;

/** What a second session does. */
public enum GuideMode implements Constant {
    OFF(0),
    CFG(1),
    CONTRAST(2);

    private final int value;

    GuideMode(int value) {
        this.value = value;
    }

    @Override
    public int value() {
        return value;
    }

    static GuideMode of(int value) {
        return Constant.find(values(), value);
    }
}
