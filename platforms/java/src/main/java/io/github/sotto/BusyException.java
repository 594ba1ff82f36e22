package io.github.sotto;

/** Thrown by a call of an object that is busy: it is inside another call, or a session uses it. */
public class BusyException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    BusyException(boolean isAttached) {
        super(isAttached ? "the object is in use by a session" : "the object is inside another call");
    }
}
