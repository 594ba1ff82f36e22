package io.github.sotto;

/**
 * The shape of a session; all of its memory follows from it. The fields are those of {@code sotto_session_params}
 * in sotto.h, which says what they mean, and begin with its defaults.
 */
public final class SessionParams {
    public int contextTokens;
    public int batchTokens;
    public int threadCount;
    public Overflow overflow;
    public int sinkTokens;
    public int sequenceCount;
    public int sequenceTokens;
    public int features;
    public int listBytes;
    public int draftTokens;

    public SessionParams() {
        Native.defaultsSessionParams(this);
    }
}
