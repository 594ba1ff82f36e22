package io.github.sotto;

/**
 * What a detector found. The fields are those of {@code sotto_watermark_result} in sotto.h, which says what they
 * mean.
 */
public final class WatermarkResult {
    public boolean isMarked;
    public long tokenCount;
    public double score;
    public double z;
    public double pValue;

    WatermarkResult() {}
}
