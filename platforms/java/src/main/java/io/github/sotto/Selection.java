package io.github.sotto;

/** How one of the tokens that are left is picked. */
public enum Selection implements Constant {
    MULTINOMIAL(0),
    GREEDY(1),
    GUMBEL(2),
    MIROSTAT(3),
    MIROSTAT_V2(4),
    ADAPTIVE_P(5);

    private final int value;

    Selection(int value) {
        this.value = value;
    }

    @Override
    public int value() {
        return value;
    }

    static Selection of(int value) {
        return Constant.find(values(), value);
    }
}
