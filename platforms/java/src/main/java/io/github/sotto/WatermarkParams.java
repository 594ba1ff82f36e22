package io.github.sotto;

/**
 * A watermark. The fields are those of {@code sotto_watermark_params} in sotto.h, which says what they mean, and
 * begin with its defaults.
 */
public final class WatermarkParams {
    public WatermarkScheme scheme;
    public int contextWidth;
    public float gamma;
    public float delta;
    public int tournamentLayers;
    public long key;

    public WatermarkParams() {
        Native.defaultsWatermarkParams(this);
    }
}
