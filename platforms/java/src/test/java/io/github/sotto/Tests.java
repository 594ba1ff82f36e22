package io.github.sotto;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;

/** Runs the methods of the test classes and holds their helpers. No test library is needed. */
public final class Tests {
    private static final Class<?>[] CLASSES = {GoldenTest.class, LifetimeTest.class, ApiTest.class};

    static final Path MODEL_PATH = Paths.get(System.getenv("SOTTO_DEMO_MODEL"));
    static final Model MODEL = open();

    private Tests() {}

    interface Action {
        void run() throws Exception;
    }

    static Model open() {
        try {
            return Model.open(MODEL_PATH.toString());
        } catch (java.io.IOException failure) {
            throw new java.io.UncheckedIOException(failure);
        }
    }

    static SessionParams shape() {
        SessionParams params = new SessionParams();
        params.contextTokens = 256;
        return params;
    }

    static void check(boolean is, String what) {
        if (!is) {
            throw new AssertionError(what);
        }
    }

    static void same(Object got, Object wanted) {
        check(java.util.Objects.deepEquals(got, wanted), "got " + show(got) + ", want " + show(wanted));
    }

    private static String show(Object value) {
        return Arrays.deepToString(new Object[] {value});
    }

    static <T extends Throwable> T fails(Class<T> type, Action action) {
        try {
            action.run();
        } catch (Throwable thrown) {
            if (type.isInstance(thrown)) {
                return type.cast(thrown);
            }
            throw new AssertionError("not " + type.getName(), thrown);
        }
        throw new AssertionError("no " + type.getName());
    }

    static String text(Session session, String prompt, long maxTokens) {
        return session.stream(prompt, maxTokens).collect(java.util.stream.Collectors.joining());
    }

    public static void main(String[] arguments) throws Exception {
        int count = 0;
        int failed = 0;
        for (Class<?> type : CLASSES) {
            for (Method method : type.getDeclaredMethods()) {
                if (method.isSynthetic() || !method.getName().startsWith("test")) {
                    continue;
                }
                ++count;
                try {
                    method.invoke(null);
                } catch (InvocationTargetException thrown) {
                    ++failed;
                    System.err.println(type.getSimpleName() + "." + method.getName());
                    thrown.getCause().printStackTrace();
                }
            }
        }
        System.out.println(count + " tests, " + failed + " failed");
        System.exit(failed == 0 && count > 0 ? 0 : 1);
    }
}
