package io.github.sotto;

/** Thrown by a call of an object that is inside another call or that a session uses. */
public class BusyException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    BusyException(boolean isAttached) {
        super(isAttached ? "the object is in use by a session" : "the object is inside another call");
    }
}
