package io.github.sotto;

/** Kinds of searches. */
public enum SearchMode implements Constant {
    BEAM(0),
    BEAM_SAMPLE(1),
    SAMPLE(2),
    CONTRASTIVE(3);

    private final int value;

    SearchMode(int value) {
        this.value = value;
    }

    @Override
    public int value() {
        return value;
    }

    static SearchMode of(int value) {
        return Constant.find(values(), value);
    }
}
