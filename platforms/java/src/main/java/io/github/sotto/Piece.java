package io.github.sotto;

/** One generated token. */
public final class Piece {
    /** Whole characters; may be empty while a character or a stop string is undecided. */
    public final String text;
    /** -1: none, only text that had been held back. */
    public final int token;
    /** The token's own. */
    public final byte[] bytes;
    /** Under the model; NaN unless asked for. */
    public final float logProbability;
    /** After the sampler's chain; NaN unless asked for. */
    public final float sampledLogProbability;
    /** The likeliest tokens, best first, and their log-probabilities. */
    public final int[] alternatives;
    public final float[] alternativeLogProbabilities;
    public final long elapsedNs;
    final int stop;

    private Piece(byte[] text, int token, byte[] bytes, float logProbability, float sampledLogProbability,
            int[] alternatives, float[] alternativeLogProbabilities, long elapsedNs, int stop) {
        this.text = Native.fromUtf8(text);
        this.token = token;
        this.bytes = bytes;
        this.logProbability = logProbability;
        this.sampledLogProbability = sampledLogProbability;
        this.alternatives = alternatives;
        this.alternativeLogProbabilities = alternativeLogProbabilities;
        this.elapsedNs = elapsedNs;
        this.stop = stop;
    }

    @Override
    public String toString() {
        return text;
    }
}
