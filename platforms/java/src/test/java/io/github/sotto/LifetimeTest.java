package io.github.sotto;

import static io.github.sotto.Tests.MODEL;
import static io.github.sotto.Tests.check;
import static io.github.sotto.Tests.fails;
import static io.github.sotto.Tests.same;
import static io.github.sotto.Tests.shape;
import static io.github.sotto.Tests.text;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** Tests of lifetimes: no use after free, no leaks, and callbacks that call back or raise. */
final class LifetimeTest {
    private LifetimeTest() {}

    static void testClosedObjectsRefuseCalls() {
        Model model = Tests.open();
        Session session = model.session(shape());
        Grammar grammar = Grammar.regex("[a-z]+");
        Vocabulary vocabulary = Vocabulary.of(new byte[][] {{'a'}, {'b'}}, new int[0], new int[0]);
        Matcher matcher = new Matcher(grammar, vocabulary);
        Sampler sampler = new Sampler(2, null, new SamplerParams());
        for (int i = 0; i < 2; ++i) {
            session.close();
            model.close();
            matcher.close();
            vocabulary.close();
            grammar.close();
            sampler.close();
        }
        check(session.isClosed(), "closed");
        session.cancel();
        int[] one = {1};
        Tests.Action[] calls = {() -> session.prefill(one), session::next, () -> session.generate(one, 1, null),
            session::heal, () -> session.rewind(0), session::reset, session::logits, session::hidden,
            () -> session.score(one, new Score()), () -> session.embed(one, Pooling.MEAN),
            () -> session.search(new SearchParams()), session::save, () -> session.restore(new byte[0]),
            () -> session.setSampler(new SamplerParams()), () -> session.setStops(new StopParams()),
            () -> session.setGuide(null, new GuideParams()), () -> session.setSpeculation(new SpeculationParams()),
            () -> session.setMatcher(null), () -> session.setGrammar(Grammar.regex("a")), session::info,
            session::timings, session::resetTimings, session::speculationInfo, () -> session.stream("a", 1),
            () -> session.forkInto(session), () -> model.tokenize("a"), model::info, model::session,
            () -> Vocabulary.of(model), () -> new Sampler(4096, model, new SamplerParams()), grammar::save,
            () -> new Matcher(grammar, null), () -> matcher.mask(0), () -> sampler.sample(new Sampler.Input(0, 1))};
        for (Tests.Action call : calls) {
            fails(ClosedException.class, call);
        }
    }

    static void testSessionsKeepWhatTheyNeed() {
        Model model = Tests.open();
        SessionParams shape = shape();
        shape.draftTokens = 4;
        shape.features = Feature.GUIDE;
        try (Session session = model.session(shape)) {
            Session guide = model.session(shape());
            Session draft = model.session(shape());
            guide.prefill("It was");
            SpeculationParams guesses = new SpeculationParams();
            guesses.sources = DraftSource.SESSION;
            guesses.draftSession = draft;
            session.setGrammar(Grammar.regex("[a-z ]*"));
            session.setGuide(guide, new GuideParams());
            session.setGuide(guide, new GuideParams());
            session.setSpeculation(guesses);
            fails(BusyException.class, guide::next);
            fails(BusyException.class, draft::reset);
            fails(BusyException.class, () -> session.setGuide(draft, new GuideParams()));
            fails(BusyException.class, () -> session.setGuide(session, new GuideParams()));
            model.close();
            guide.close();
            draft.close();
            check(!text(session, "It was", 10).isEmpty(), "text");
            session.setGrammar(Grammar.regex("[A-Z]*"));
            session.setGuide(null, new GuideParams());
            session.setSpeculation(new SpeculationParams());
            check(!text(session, "IT", 3).isEmpty(), "text");
        }
    }

    static void testCallbacksCannotBreakASession() {
        Session session = MODEL.session(shape());
        int[] prompt = MODEL.tokenize("It was");
        fails(BusyException.class, () -> session.generate(prompt, 5, piece -> session.next() != null));
        fails(ArithmeticException.class, () -> session.generate(prompt, 5, piece -> 1 / (piece.token * 0) > 0));
        SamplerParams params = new SamplerParams();
        params.logitsCallback = logits -> {
            throw new UnsupportedOperationException("mine");
        };
        session.setSampler(params);
        fails(UnsupportedOperationException.class, () -> text(session, "It was", 3));
        session.setSampler(new SamplerParams());
        same(session.generate(prompt, 5, piece -> true), Status.STOP_CALLBACK);
        same(session.generate(prompt, Session.NO_LIMIT, piece -> {
            session.close();
            return false;
        }), Status.STOP_CANCELLED);
        fails(ClosedException.class, session::next);
    }

    private static void interrupt(java.util.function.Consumer<Session> action) throws Exception {
        SessionParams shape = shape();
        shape.overflow = Overflow.RING;
        Session session = MODEL.session(shape);
        SamplerParams params = new SamplerParams();
        params.ignoreEnd = true;
        session.setSampler(params);
        CountDownLatch started = new CountDownLatch(1);
        Thread other = new Thread(() -> {
            try {
                started.await();
            } catch (InterruptedException ignored) {
                return;
            }
            action.accept(session);
        });
        other.start();
        same(session.generate(new int[] {1}, Session.NO_LIMIT, piece -> {
            started.countDown();
            return false;
        }), Status.STOP_CANCELLED);
        other.join();
        session.close();
        fails(ClosedException.class, session::next);
    }

    static void testOtherThreadsCancelAndClose() throws Exception {
        interrupt(Session::cancel);
        interrupt(Session::close);
    }

    static void testSessionsRunSideBySide() throws Exception {
        List<String> texts = java.util.Collections.synchronizedList(new ArrayList<>());
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; ++i) {
            Thread thread = new Thread(() -> {
                try (Session session = MODEL.session(shape())) {
                    texts.add(text(session, "It was", 20));
                }
            });
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        same(texts.size(), 4);
        same(texts.stream().distinct().count(), 1L);
    }

    /** Returns the size of the largest mapping that is aligned to a huge page and advised to use them (proc(5)). */
    private static long largestOnHugePages() throws Exception {
        long largest = 0;
        long begin = 0;
        long end = 0;
        for (String line : Files.readAllLines(Paths.get("/proc/self/smaps"))) {
            String[] words = line.split("[- ]");
            if (line.matches("[0-9a-f]+-[0-9a-f]+ .*")) {
                begin = Long.parseUnsignedLong(words[0], 16);
                end = Long.parseUnsignedLong(words[1], 16);
            } else if (line.startsWith("VmFlags:") && line.contains(" hg") && begin % (2 << 20) == 0) {
                largest = Math.max(largest, end - begin);
            }
        }
        return largest;
    }

    static void testLargeBlocksAskForHugePages() throws Exception {
        if (!Files.exists(Paths.get("/sys/kernel/mm/transparent_hugepage"))) {
            return;
        }
        SessionParams shape = shape();
        shape.sequenceCount = 64;
        shape.sequenceTokens = 256;
        long size = MODEL.sessionMemorySize(shape);
        check(size > 32 << 20, size + " bytes, which may be in the heap of malloc");
        check(largestOnHugePages() < size, "a large block before");
        try (Session session = MODEL.session(shape)) {
            check(largestOnHugePages() >= session.info().memoryBytes, "no large block on huge pages");
        }
    }

    /** Creates one object of each kind; those that are not closed are left to the garbage collector. */
    private static void use(boolean isClosed) {
        Model model = Tests.open();
        SessionParams shape = shape();
        shape.sequenceCount = 2;
        Session session = model.session(shape);
        SamplerParams params = new SamplerParams();
        params.logitsCallback = logits -> {};
        session.setSampler(params);
        Grammar grammar = Grammar.regex("[a-z ]*");
        session.setGrammar(grammar);
        text(session, "It was", 3);
        SearchParams search = new SearchParams();
        search.maxTokens = 3;
        session.search(search);
        fails(SottoException.class, () -> Grammar.gbnf("root ::= ("));
        if (isClosed) {
            grammar.close();
            model.close();
            session.close();
        }
    }

    private static long resident() throws Exception {
        System.gc();
        Thread.sleep(100); // for what the collector found
        return Long.parseLong(new String(Files.readAllBytes(Paths.get("/proc/self/statm"))).split(" ")[1]) * 4096;
    }

    static void testNothingLeaks() throws Exception {
        Path statm = Paths.get("/proc/self/statm");
        if (!Files.exists(statm)) {
            return;
        }
        for (boolean isClosed : new boolean[] {true, false}) {
            use(isClosed);
            use(isClosed);
            long before = resident();
            for (int i = 0; i < 12; ++i) {
                use(isClosed);
                if (!isClosed) {
                    resident();
                }
            }
            long grown = resident() - before;
            for (int i = 0; i < 100 && grown >= 40L << 20; ++i) {
                grown = resident() - before; // the collector frees the others in its own time
            }
            check(grown < 40L << 20, grown + " bytes more, closed: " + isClosed); // 12 of each would be 100 MiB
        }
    }
}
