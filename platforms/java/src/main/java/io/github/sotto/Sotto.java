package io.github.sotto;

/** Functions that need no object. */
public final class Sotto {
    private Sotto() {}

    /** Returns the version of the library: major, minor, patch. */
    public static int[] version() {
        int version = Native.version();
        return new int[] {version >> 16, version >> 8 & 255, version & 255};
    }

    /** Returns the features of the library as words separated by spaces. */
    public static String buildText() {
        return Native.buildText();
    }

    /** Returns the name of an instruction set. */
    public static String nameOf(Isa isa) {
        return Native.isaText(isa.value());
    }

    /** Detects a watermark in tokens of a model whose vocabulary has vocabularySize tokens. */
    public static WatermarkResult detectWatermark(WatermarkParams params, int vocabularySize, int[] tokens) {
        WatermarkResult result = new WatermarkResult();
        Native.watermarkDetect(params, vocabularySize, tokens, result);
        return result;
    }
}
