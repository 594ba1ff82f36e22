package io.github.sotto;

/** A continuation that a search found. */
public final class Sequence {
    public final int[] tokens;
    /** The score that ranks the sequence in the search. */
    public final double score;
    public final double logProbability;
    /** The reason why it ended. */
    public final Status stop;
    /** The stream of random numbers that it was sampled with. */
    public final int index;

    private Sequence(int[] tokens, double score, double logProbability, int stop, int index) {
        this.tokens = tokens;
        this.score = score;
        this.logProbability = logProbability;
        this.stop = Status.of(stop);
        this.index = index;
    }
}
