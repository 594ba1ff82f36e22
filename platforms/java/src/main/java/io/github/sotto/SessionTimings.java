package io.github.sotto;

/**
 * Counts, and wall-clock nanoseconds, since the beginning or resetTimings. The fields are those of
 * {@code sotto_session_timings} in sotto.h, which says what they mean.
 */
public final class SessionTimings {
    public long prefillTokens;
    public long prefillNs;
    public long decodeTokens;
    public long decodeNs;
    public long sampleCount;
    public long sampleNs;
    public long reanchorTokens;
    public long reanchorNs;

    SessionTimings() {}
}
