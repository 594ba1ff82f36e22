package io.github.sotto;

/** What needs no object. */
public final class Sotto {
    private Sotto() {}

    /** Version of the library: major, minor, patch. */
    public static int[] version() {
        int version = Native.version();
        return new int[] {version >> 16, version >> 8 & 255, version & 255};
    }

    /** What the library was built with: words separated by spaces. */
    public static String buildText() {
        return Native.buildText();
    }

    /** The library's name of an instruction set. */
    public static String nameOf(Isa isa) {
        return Native.isaText(isa.value());
    }

    /** Looks for a watermark in tokens of a model with so many tokens in its vocabulary. */
    public static WatermarkResult detectWatermark(WatermarkParams params, int vocabularySize, int[] tokens) {
        WatermarkResult result = new WatermarkResult();
        Native.watermarkDetect(params, vocabularySize, tokens, result);
        return result;
    }
}
