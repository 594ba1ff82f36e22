package io.github.sotto;

/** A bias added to the logit of a token; negative infinity bans the token. */
public final class TokenBias {
    public final int token;
    public final float bias;

    public TokenBias(int token, float bias) {
        this.token = token;
        this.bias = bias;
    }
}
