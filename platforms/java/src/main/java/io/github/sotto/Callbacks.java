package io.github.sotto;

import java.util.function.IntSupplier;

/** The functions that the library calls for one object. An exception in one of them ends the library's call, which
 * throws it again. */
public final class Callbacks {
    /** Receives log messages. */
    public interface Log {
        void log(LogLevel level, String message);
    }

    /** Receives each piece of a text and ends it by returning true. */
    public interface Pieces {
        boolean onPiece(Piece piece);
    }

    /** Changes the logits of all tokens. */
    public interface Logits {
        void change(float[] logits);
    }

    /** Changes the logits of all tokens that may follow the tokens of a sequence. */
    public interface Processor {
        void change(int[] tokens, int sequence, float[] logits);
    }

    /** Returns the similarity of two continuations. */
    public interface Similarity {
        double of(int[] a, int[] b);
    }

    /** Receives each step of a search and ends it by returning true. */
    public interface Step {
        boolean onStep(int sequence, int token);
    }

    /** Proposes at most capacity tokens; hidden may be null. */
    public interface Draft {
        int[] guess(int[] tokens, float[] hidden, int capacity);
    }

    Log log;
    Pieces pieces;
    Logits logits;
    Processor processor;
    Similarity similarity;
    Step step;
    Draft draft;

    Callbacks() {}

    Callbacks(Log log) {
        this.log = log;
    }

    /** Runs a call that generates text while `given` receives its pieces. */
    Status during(Pieces given, IntSupplier call) {
        pieces = given;
        try {
            return Status.of(call.getAsInt());
        } finally {
            pieces = null;
        }
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

    private void onProcessor(int[] tokens, int sequence, float[] values) {
        processor.change(tokens, sequence, values);
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
