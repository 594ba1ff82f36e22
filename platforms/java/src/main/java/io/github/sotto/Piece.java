package io.github.sotto;

/** A generated token. */
public final class Piece {
    /** Whole characters; empty while a character or a stop string is incomplete. */
    public final String text;
    /** The token, or -1 if the piece contains only text that was withheld before. */
    public final int token;
    /** The bytes of the token. */
    public final byte[] bytes;
    /** ln p under the model; NaN unless logProbabilities is set. */
    public final float logProbability;
    /** ln p after the sampler's chain; NaN unless logProbabilities is set. */
    public final float sampledLogProbability;
    /** The most likely tokens, best first, and their ln p. */
    public final int[] alternatives;
    public final float[] alternativeLogProbabilities;
    public final long elapsedNs;
    /** Entropy of the model's distribution in nats. This and the two other numbers are NaN unless statistics is set. */
    public final float entropy;
    /** exp(entropy): the number of equally likely tokens with the same entropy. */
    public final float effectiveVocabulary;
    /** Number of tokens left to draw from after the sampler's chain; 0 unless statistics is set. */
    public final int keptCount;
    /** Repetitiveness of the newest tokens, from 0 to 1. */
    public final float repetitiveness;
    final int stop;

    private Piece(byte[] text, int token, byte[] bytes, float logProbability, float sampledLogProbability,
            int[] alternatives, float[] alternativeLogProbabilities, long elapsedNs, float entropy,
            float effectiveVocabulary, int keptCount, float repetitiveness, int stop) {
        this.text = Native.fromUtf8(text);
        this.token = token;
        this.bytes = bytes;
        this.logProbability = logProbability;
        this.sampledLogProbability = sampledLogProbability;
        this.alternatives = alternatives;
        this.alternativeLogProbabilities = alternativeLogProbabilities;
        this.elapsedNs = elapsedNs;
        this.entropy = entropy;
        this.effectiveVocabulary = effectiveVocabulary;
        this.keptCount = keptCount;
        this.repetitiveness = repetitiveness;
        this.stop = stop;
    }

    /** Returns whether there is a token or text, as there may not be at a stop. */
    boolean hasContent() {
        return token >= 0 || !text.isEmpty();
    }

    @Override
    public String toString() {
        return text;
    }
}
