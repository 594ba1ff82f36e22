package io.github.sotto;

/**
 * What a second session does to the first. The fields are those of {@code sotto_guide_params} in sotto.h, which
 * says what they mean, and begin with its defaults.
 */
public final class GuideParams {
    public GuideMode mode;
    public float scale;
    public float alpha;
    public float beta;

    public GuideParams() {
        Native.defaultsGuideParams(this);
    }
}
