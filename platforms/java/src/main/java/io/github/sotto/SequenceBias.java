package io.github.sotto;

/** Adds to the logit of the last token where those before it have just come. */
public final class SequenceBias {
    public final int[] tokens;
    public final float bias;

    public SequenceBias(int[] tokens, float bias) {
        this.tokens = tokens.clone();
        this.bias = bias;
    }
}
