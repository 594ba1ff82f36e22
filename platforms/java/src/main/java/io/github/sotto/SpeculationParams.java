package io.github.sotto;

/**
 * Where guesses at the next tokens come from. The fields are those of {@code sotto_speculation_params} in sotto.h,
 * which says what they mean, and begin with its defaults.
 */
public final class SpeculationParams {
    public int sources;
    public int draftTokens;
    public int minMatch;
    public int maxMatch;
    public int exitLayer;
    public float draftThreshold;
    public Session draftSession;
    public Callbacks.Draft draft;

    public SpeculationParams() {
        Native.defaultsSpeculationParams(this);
    }
}
