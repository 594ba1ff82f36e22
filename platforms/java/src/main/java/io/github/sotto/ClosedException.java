package io.github.sotto;

/** A closed object was called. */
public class ClosedException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    ClosedException() {
        super("the object is closed");
    }
}
