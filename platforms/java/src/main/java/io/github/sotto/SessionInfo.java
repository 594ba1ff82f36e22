package io.github.sotto;

/**
 * A session's shape and state. The fields are those of {@code sotto_session_info} in sotto.h, which says what they
 * mean.
 */
public final class SessionInfo {
    public int contextTokens;
    public int batchTokens;
    public int threadCount;
    public int sinkTokens;
    public int cachedTokens;
    public long tokenCount;
    public long reanchorCount;
    public long kvBytes;
    public long memoryBytes;

    SessionInfo() {}
}
