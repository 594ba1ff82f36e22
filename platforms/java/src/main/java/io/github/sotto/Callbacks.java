package io.github.sotto;

/** The functions that the library calls for one object. An exception ends the call, which throws it. */
public final class Callbacks {
    /** Gets messages. */
    public interface Log {
        void log(LogLevel level, String message);
    }

    /** Gets each piece of a text, and ends it by giving true. */
    public interface Pieces {
        boolean onPiece(Piece piece);
    }

    /** Changes the logits of all tokens. */
    public interface Logits {
        void change(float[] logits);
    }

    /** How similar two continuations are. */
    public interface Similarity {
        double of(int[] a, int[] b);
    }

    /** Gets each step of a search, and ends it by giving true. */
    public interface Step {
        boolean onStep(int sequence, int token);
    }

    /** Guesses at most so many tokens; hidden may be null. */
    public interface Draft {
        int[] guess(int[] tokens, float[] hidden, int capacity);
    }

    Log log;
    Pieces pieces;
    Logits logits;
    Similarity similarity;
    Step step;
    Draft draft;

    Callbacks() {}

    Callbacks(Log log) {
        this.log = log;
    }

    // Called from C.

    private void onLog(int level, byte[] message) {
        log.log(LogLevel.of(level), Native.fromUtf8(message));
    }

    private boolean onPiece(Piece piece) {
        return pieces.onPiece(piece);
    }

    private void onLogits(float[] values) {
        logits.change(values);
    }

    private double onSimilarity(int[] a, int[] b) {
        return similarity.of(a, b);
    }

    private boolean onStep(int sequence, int token) {
        return step.onStep(sequence, token);
    }

    private int[] onDraft(int[] tokens, float[] hidden, int capacity) {
        return draft.guess(tokens, hidden, capacity);
    }
}
