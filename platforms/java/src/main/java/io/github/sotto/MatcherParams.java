package io.github.sotto;

/**
 * How much a matcher may keep. The fields are those of {@code sotto_matcher_params} in sotto.h, which says what
 * they mean, and begin with its defaults.
 */
public final class MatcherParams {
    public int sequenceCount;
    public int rollbackCount;
    public int nodeCount;
    public int frameCount;
    public int configCount;
    public int itemCount;
    public int workCount;
    public int maskBytes;
    public long stepBudget;

    public MatcherParams() {
        Native.defaultsMatcherParams(this);
    }
}
