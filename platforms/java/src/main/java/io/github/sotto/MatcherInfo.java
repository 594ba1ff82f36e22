package io.github.sotto;

/**
 * Where a text stands in its grammar. The fields are those of {@code sotto_matcher_info} in sotto.h, which says
 * what they mean.
 */
public final class MatcherInfo {
    public boolean mayEnd;
    public boolean mustEnd;
    public long tokenCount;

    MatcherInfo() {}
}
