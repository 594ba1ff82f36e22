package io.github.sotto;

/**
 * A conversation over a session, whose sampler and grammar apply to the replies. The session must not be used in the
 * meantime, except for its parameters.
 */
public final class Chat extends Owned {
    private final Session session;

    Chat(Session session, String format, ChatParams params) {
        super(make(session, format, params));
        this.session = session;
    }

    private static Resource make(Session session, String format, ChatParams params) {
        byte[] text = Native.toUtf8(format);
        long made = session.resource.run(handle -> Native.chatNew(handle, text, params));
        session.resource.retain();
        return new Resource(made, Native::chatFree, null, session.resource);
    }

    /** Returns the text of a predefined format. */
    public static String formatText(ChatFormat format) {
        return Native.chatFormatText(format.value());
    }

    private interface Action {
        void run(long chat);
    }

    /** Runs a call while no other one uses the session. */
    private void act(Action action) {
        session.resource.act(held -> resource.act(action::run));
    }

    // Methods of sotto_chat, written by capi/generate from capi/params.

    /** Sets the stops of the session, and adds the string that ends a reply. */
    public void setStops(StopParams params) {
        act(chat -> Native.chatSetStops(chat, params));
    }

    /** Adds a message. A system message replaces an earlier one. */
    public void add(ChatRole role, String text) {
        act(chat -> Native.chatAdd(chat, role.value(), Native.toUtf8(text)));
    }

    /** Removes all messages. */
    public void reset() {
        act(chat -> Native.chatReset(chat));
    }

    /** Returns the state of the conversation. */
    public ChatInfo info() {
        ChatInfo info = new ChatInfo();
        act(chat -> Native.chatInfo(chat, info));
        return info;
    }

    /** Removes the last turn. */
    public void undo() {
        act(chat -> Native.chatUndo(chat));
    }

    /** Removes the last reply. Another one can then be generated. */
    public void undoReply() {
        act(chat -> Native.chatUndoReply(chat));
    }

    /**
     * Generates a reply. Calls onPiece, which may be null, with each piece until it returns true. Returns the reason
     * why the text ended. There is no limit if maxTokens is NO_LIMIT.
     */
    public Status reply(long maxTokens, Callbacks.Pieces onPiece) {
        Session.checkLimit(maxTokens);
        return session.resource.run(held -> resource.run(chat -> session.callbacks.during(onPiece,
                () -> Native.chatReply(chat, maxTokens, onPiece != null))));
    }

    /** Returns the messages as bytes, the same on every platform. */
    public byte[] save() {
        return session.resource.run(held -> resource.run(chat -> Native.chatSave(chat)));
    }

    /** Restores saved messages. The state is validated, so it may come from an untrusted source. */
    public void restore(byte[] state) {
        act(chat -> Native.chatRestore(chat, state));
    }

    // End of the generated methods.
}
