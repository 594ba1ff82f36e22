package io.github.sotto;

/**
 * When a text ends, and what never comes. The fields are those of {@code sotto_stop_params} in sotto.h, which says
 * what they mean, and begin with its defaults.
 */
public final class StopParams {
    public boolean includeStopText;
    public long maxTokens;
    public long maxTimeNs;
    public float repetitionLimit;
    public int repetitionWindow;
    public int[] stopTokens;
    public String[] stopStrings;
    public String[] bannedStrings;

    public StopParams() {
        Native.defaultsStopParams(this);
    }
}
