package io.github.sotto;

/**
 * How guesses fared since the beginning or resetTimings. The fields are those of {@code sotto_speculation_info} in
 * sotto.h, which says what they mean.
 */
public final class SpeculationInfo {
    public long batchCount;
    public long proposedCount;
    public long acceptedCount;
    public long forcedProposedCount;
    public long forcedAcceptedCount;
    public long draftNs;

    SpeculationInfo() {}
}
