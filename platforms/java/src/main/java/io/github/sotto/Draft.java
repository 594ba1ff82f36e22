package io.github.sotto;

/** Where guesses at the next tokens come from; bits of {@link SpeculationParams#sources}. */
public final class Draft {
    public static final int LOOKUP = 1;
    public static final int SESSION = 2;
    public static final int EARLY_EXIT = 4;
    public static final int LOOKAHEAD = 8;
    public static final int CALLBACK = 16;

    private Draft() {}
}
