package io.github.sotto;

/** What needs memory of its own; bits of {@link SessionParams#features}. */
public final class Feature {
    public static final int HIDDEN_HISTORY = 1;
    public static final int DOLA = 2;
    public static final int GUIDE = 4;

    private Feature() {}
}
