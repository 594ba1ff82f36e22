package io.github.sotto;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * A stream of text that a model continues. One thread at a time may use it; only {@link #cancel} and {@link #close} may
 * be called from another.
 */
public final class Session extends Owned {
    /** Value of maxTokens without a limit: the text continues until another stop. */
    public static final long NO_LIMIT = Long.MAX_VALUE;

    private final Resource model;
    final Callbacks callbacks;
    private final Map<String, Resource> uses; // guide, draft session and matcher, by role
    private final int embeddingSize;

    private Session(Resource resource, Model model, Callbacks callbacks) {
        super(resource);
        this.model = model.resource;
        this.callbacks = callbacks;
        embeddingSize = model.info.embeddingSize;
        Map<String, Resource> used = new HashMap<>();
        uses = used;
        resource.atEnd(() -> used.values().forEach(Resource::detach));
    }

    static Session of(Model model, SessionParams params) {
        Callbacks callbacks = new Callbacks();
        long handle = model.resource.retain();
        try {
            long session = Native.sessionNew(handle, params, callbacks);
            Resource made = new Resource(session, Native::sessionFree, Native::sessionCancel, model.resource);
            return new Session(made, model, callbacks);
        } catch (RuntimeException | Error failure) {
            model.resource.release();
            throw failure;
        }
    }

    // ---- Parameters

    /** Sets the sampler's parameters and restarts the random numbers from the seed. */
    public void setSampler(SamplerParams params) {
        resource.act(session -> {
            Callbacks.Logits logits = callbacks.logits;
            Callbacks.Processor processor = callbacks.processor;
            callbacks.logits = params.logitsCallback;
            callbacks.processor = params.logitsProcessor;
            try {
                Native.sessionSetSampler(session, params, params.logitsCallback != null, params.logitsProcessor != null);
            } catch (RuntimeException | Error failure) {
                callbacks.logits = logits;
                callbacks.processor = processor;
                throw failure;
            }
        });
    }

    /** Sets the parameters of speculative decoding. */
    public void setSpeculation(SpeculationParams params) {
        Session draft = params.draftSession;
        use("draft", draft, (session, used) -> {
            Callbacks.Draft before = callbacks.draft;
            callbacks.draft = params.draft;
            try {
                Native.sessionSetSpeculation(session, params, used, params.draft != null);
            } catch (RuntimeException | Error failure) {
                callbacks.draft = before;
                throw failure;
            }
        });
    }

    /** Sets a second session as the guide of this one. null removes it. */
    public void setGuide(Session guide, GuideParams params) {
        use("guide", guide, (session, used) -> Native.sessionSetGuide(session, used, params));
    }

    /** Constrains the generated text to continue sequence 0 of a matcher. null removes it. */
    public void setMatcher(Matcher matcher) {
        use("matcher", matcher, Native::sessionSetMatcher);
    }

    /**
     * Constrains the generated text by a grammar, through a new matcher. null removes it. Before another text, set the
     * grammar again or call reset.
     */
    public void setGrammar(Grammar grammar) {
        setGrammar(grammar, 0);
    }

    /** The same for a text that is complete after at most finishWithin tokens; 0 means no limit. */
    public void setGrammar(Grammar grammar, int finishWithin) {
        if (grammar == null) {
            setMatcher(null);
            return;
        }
        MatcherParams params = new MatcherParams();
        params.sequenceCount = info().matcherSequenceCount;
        params.finishWithin = finishWithin;
        resource.share(session -> { // which keeps its model
            try (Vocabulary vocabulary = Vocabulary.ofHeld(model);
                    Matcher matcher = new Matcher(grammar, vocabulary, params)) {
                setMatcher(matcher);
            }
            return null;
        });
    }

    private interface Setter {
        void set(long session, long used);
    }

    /** Replaces or removes one object that the session uses. */
    private void use(String what, Owned owner, Setter setter) {
        Resource used = owner == null ? null : owner.resource;
        Resource old = resource.run(session -> {
            Resource before = uses.get(what);
            boolean isNew = used != null && used != before;
            long handle = 0;
            if (used != null) {
                handle = isNew ? used.attach() : used.retainHeld();
            }
            try {
                setter.set(session, handle);
            } catch (RuntimeException | Error failure) {
                if (isNew) {
                    used.detach();
                }
                throw failure;
            } finally {
                if (used != null && !isNew) {
                    used.release();
                }
            }
            if (used == null) {
                uses.remove(what);
            } else {
                uses.put(what, used);
            }
            return used == before ? null : before;
        });
        if (old != null) {
            old.detach();
        }
    }

    // ---- The stream

    /** Encodes text with the session's model, closed or not. */
    private int[] tokensOf(String text) {
        byte[] bytes = Native.toUtf8(text);
        return resource.share(session -> {
            long held = model.retainHeld();
            try {
                return Native.tokenize(held, bytes, false);
            } finally {
                model.release();
            }
        });
    }

    public Status prefill(String prompt) {
        return prefill(tokensOf(prompt));
    }

    /** Begins an empty stream with rows of embeddingSize floats instead of tokens. */
    public Status prefillEmbeddings(float[] embeddings) {
        if (embeddings.length % embeddingSize != 0) {
            throw new IllegalArgumentException(
                    "embeddings has " + embeddings.length + " floats; it must have " + embeddingSize + " per row");
        }
        int count = embeddings.length / embeddingSize;
        return resource.run(session -> Status.of(Native.sessionPrefillEmbeddings(session, embeddings, count)));
    }

    /**
     * Generates one token. Returns null at a stop; if text was withheld, a piece without a token comes first. After a
     * cancellation, the next call continues the text; after another stop it does not.
     */
    public Piece next() {
        return resource.run(session -> {
            Piece piece = Native.sessionNext(session);
            return piece.hasContent() ? piece : null;
        });
    }

    /** A result of {@link #nextOf}: what {@link #next} would return in one session. */
    public static final class Step {
        /** The piece, or null at a stop or after a failure. */
        public final Piece piece;
        /** The failure, or null. */
        public final SottoException failure;

        private Step(Object result) {
            failure = result instanceof SottoException ? (SottoException) result : null;
            Piece made = failure == null ? (Piece) result : null;
            piece = made != null && made.hasContent() ? made : null;
        }
    }

    /**
     * Generates one token in each of several sessions of the same model, in one batch, which is faster than one session
     * after the other, and gives the same results. An exception in a callback is thrown at the end; in the rest of the
     * call, no other callback runs.
     */
    public static List<Step> nextOf(List<Session> sessions) {
        Object[] results = nextOf(sessions, 0, new long[sessions.size()]);
        return Arrays.stream(results).map(Step::new).collect(Collectors.toList());
    }

    /** Enters the sessions from `index` on, and makes the call in all of them. */
    private static Object[] nextOf(List<Session> sessions, int index, long[] handles) {
        if (index == handles.length) {
            return Native.sessionsNext(handles);
        }
        return sessions.get(index).resource.run(session -> {
            handles[index] = session;
            return nextOf(sessions, index + 1, handles);
        });
    }

    public Iterator<Piece> pieces(String prompt, long maxTokens) {
        return pieces(tokensOf(prompt), maxTokens);
    }

    /**
     * Evaluates a prompt and returns the pieces that follow, until a stop or after maxTokens. An empty prompt continues
     * the text. {@code info().stop} says why the text ended.
     */
    public Iterator<Piece> pieces(int[] prompt, long maxTokens) {
        checkLimit(maxTokens);
        Status status = prefill(prompt);
        if (status == Status.OK) {
            setLimit(maxTokens);
        }
        return new Pieces(status != Status.OK);
    }

    /** Like pieces, but returns text. */
    public Stream<String> stream(String prompt, long maxTokens) {
        int characteristics = Spliterator.ORDERED | Spliterator.NONNULL;
        Spliterator<Piece> pieces = Spliterators.spliteratorUnknownSize(pieces(prompt, maxTokens), characteristics);
        return StreamSupport.stream(pieces, false).map(piece -> piece.text).filter(text -> !text.isEmpty());
    }

    private final class Pieces implements Iterator<Piece> {
        private Piece following;
        private boolean isAsked;
        private boolean isOver;

        Pieces(boolean isOver) {
            this.isOver = isOver;
        }

        @Override
        public boolean hasNext() {
            if (!isAsked) {
                following = isOver ? null : Session.this.next();
                isOver = following == null || following.token < 0;
                isAsked = true;
            }
            return following != null;
        }

        @Override
        public Piece next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            isAsked = false;
            return following;
        }
    }

    static void checkLimit(long maxTokens) {
        if (maxTokens < 0) {
            throw new IllegalArgumentException("maxTokens is " + maxTokens + "; it must be at least 0");
        }
    }

    // Methods of sotto_session, written by capi/generate from capi/params.

    /** Appends a prompt to the stream and evaluates it. Returns OK or STOP_CANCELLED. */
    public Status prefill(int[] prompt) {
        return resource.run(session -> Status.of(Native.sessionPrefill(session, prompt)));
    }

    /**
     * Limits the number of tokens that are generated one by one, from now on until the next prompt. There is no limit
     * if maxTokens is NO_LIMIT.
     */
    public void setLimit(long maxTokens) {
        Session.checkLimit(maxTokens);
        resource.act(session -> Native.sessionSetLimit(session, maxTokens));
    }

    /**
     * Evaluates a prompt and generates text until a stop. An empty prompt continues the text. Calls onPiece, which may
     * be null, with each piece until it returns true. Returns the reason why the text ended. There is no limit if
     * maxTokens is NO_LIMIT.
     */
    public Status generate(int[] prompt, long maxTokens, Callbacks.Pieces onPiece) {
        Session.checkLimit(maxTokens);
        return resource.run(session -> callbacks.during(onPiece,
                () -> Native.sessionGenerate(session, prompt, maxTokens, onPiece != null)));
    }

    /** Evaluates tokens and returns their pooled hidden states. */
    public float[] embed(int[] prompt, Pooling pooling) {
        return resource.run(session -> Native.sessionEmbed(session, prompt, pooling.value(), embeddingSize));
    }

    /** Replaces the stops: the conditions that end a text. */
    public void setStops(StopParams params) {
        resource.act(session -> Native.sessionSetStops(session, params));
    }

    /** Applies token healing, for a prompt that ends inside a word. Call it after a prefill. */
    public void heal() {
        resource.act(session -> Native.sessionHeal(session));
    }

    /** Rolls the stream back to its first tokens. */
    public void rewind(long tokenCount) {
        resource.act(session -> Native.sessionRewind(session, tokenCount));
    }

    /** Removes all tokens and restarts the sampler. The parameters stay in effect. */
    public void reset() {
        resource.act(session -> Native.sessionReset(session));
    }

    /** Returns the dimensions and the state of the session. */
    public SessionInfo info() {
        SessionInfo info = new SessionInfo();
        resource.act(session -> Native.sessionInfo(session, info));
        return info;
    }

    /** Returns the counts of tokens and the times since the session was created or its timings were reset. */
    public SessionTimings timings() {
        SessionTimings info = new SessionTimings();
        resource.act(session -> Native.sessionTimings(session, info));
        return info;
    }

    /** Sets all counts and times to zero. */
    public void resetTimings() {
        resource.act(session -> Native.sessionResetTimings(session));
    }

    /** Returns the logits after the last token, before the sampler. */
    public float[] logits() {
        return resource.run(session -> Native.sessionLogits(session));
    }

    /** Returns the hidden state of the last token. */
    public float[] hidden() {
        return resource.run(session -> Native.sessionHidden(session));
    }

    /** Returns the stream as bytes, the same on every platform. */
    public byte[] save() {
        return resource.run(session -> Native.sessionSave(session));
    }

    /** Restores a saved stream. The state is validated, so it may come from an untrusted source. */
    public void restore(byte[] state) {
        resource.act(session -> Native.sessionRestore(session, state));
    }

    /** Returns the statistics of speculative decoding. A reset of the timings sets them to zero. */
    public SpeculationInfo speculationInfo() {
        SpeculationInfo info = new SpeculationInfo();
        resource.act(session -> Native.sessionSpeculationInfo(session, info));
        return info;
    }

    // End of the generated methods.

    /** Stops the running call, or the next one. May be called from any thread. */
    public void cancel() {
        resource.cancel();
    }

    // ---- Logits, hidden states and scores

    /** Evaluates tokens, returns ln p of each and fills in their total score. */
    public float[] score(int[] tokens, Score score) {
        return resource.run(session -> Native.sessionScore(session, tokens, score));
    }

    /** Searches for several continuations of the stream, best first; the stream itself does not change. */
    public Sequence[] search(SearchParams params) {
        return resource.run(session -> {
            callbacks.similarity = params.similarity;
            callbacks.step = params.onStep;
            try {
                return Native.sessionSearch(session, params, params.phraseGroups, params.similarity != null,
                        params.onStep != null);
            } finally {
                callbacks.similarity = null;
                callbacks.step = null;
            }
        });
    }

    // ---- Conversations

    /** Begins a conversation over this session, with the text of a predefined format or of the caller. */
    public Chat chat(String format, ChatParams params) {
        return new Chat(this, format, params);
    }

    // ---- States

    /** Makes another session a copy of this stream. Both must have the same model and parameters. */
    public void forkInto(Session other) {
        resource.act(from -> other.resource.act(to -> Native.sessionFork(from, to)));
    }
}
