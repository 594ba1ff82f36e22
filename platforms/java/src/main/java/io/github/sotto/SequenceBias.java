package io.github.sotto;

/** A bias added to the logit of the last of its tokens after the others have been generated. */
public final class SequenceBias {
    public final int[] tokens;
    public final float bias;

    public SequenceBias(int[] tokens, float bias) {
        this.tokens = tokens.clone();
        this.bias = bias;
    }
}
