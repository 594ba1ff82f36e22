package io.github.sotto;

/** What the source of a grammar is written in. */
public enum GrammarLanguage implements Constant {
    GBNF(0),
    JSON_SCHEMA(1),
    REGEX(2),
    JSON(3),
    JSON_OBJECT(4),
    CHOICES(5),
    NUMBER(6),
    TOOLS(7);

    private final int value;

    GrammarLanguage(int value) {
        this.value = value;
    }

    @Override
    public int value() {
        return value;
    }

    static GrammarLanguage of(int value) {
        return Constant.find(values(), value);
    }
}
