package io.github.sotto;

/** Thrown by a call of a closed object. */
public class ClosedException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    ClosedException() {
        super("the object is closed");
    }
}
