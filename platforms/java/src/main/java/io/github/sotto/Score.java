package io.github.sotto;

/**
 * How likely tokens were. The fields are those of {@code sotto_score} in sotto.h, which says what they mean.
 */
public final class Score {
    public long tokenCount;
    public double logProbability;
    public double perplexity;

    Score() {}
}
