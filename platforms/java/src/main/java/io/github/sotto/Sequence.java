package io.github.sotto;

/** One continuation that a search returned. */
public final class Sequence {
    public final int[] tokens;
    /** What the search ranks by. */
    public final double score;
    public final double logProbability;
    /** Why it ended. */
    public final Status stop;
    /** Of the random numbers it was drawn with. */
    public final int index;

    private Sequence(int[] tokens, double score, double logProbability, int stop, int index) {
        this.tokens = tokens;
        this.score = score;
        this.logProbability = logProbability;
        this.stop = Status.of(stop);
        this.index = index;
    }
}
