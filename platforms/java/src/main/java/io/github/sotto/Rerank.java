package io.github.sotto;

/** What a search by sampling puts first. */
public enum Rerank implements Constant {
    ORDER(0),
    BEST(1),
    EXACT(2),
    NGRAM(3),
    CALLBACK(4);

    private final int value;

    Rerank(int value) {
        this.value = value;
    }

    @Override
    public int value() {
        return value;
    }

    static Rerank of(int value) {
        return Constant.find(values(), value);
    }
}
