package interop;

import com.alibaba.csp.sentinel.init.InitExecutor;

/**
 * A token server or a token client of the official artifacts, driven by lines on standard input.
 *
 * <pre>
 *   java -cp ... interop.Main server
 *   java -cp ... interop.Main client NAMESPACE
 * </pre>
 *
 * Every command is one line and is answered by one line of JSON on standard output, in order. The program ends with
 * its standard input.
 */
public final class Main {
    private Main() {
    }

    public static void main(String[] args) throws Exception {
        Commands commands = new Commands();
        if (args.length == 1 && args[0].equals("server")) {
            InitExecutor.doInit();
            new Server().register(commands);
        } else if (args.length == 2 && args[0].equals("client")) {
            new Client(args[1]).register(commands);
        } else {
            System.err.println("usage: interop.Main server | client NAMESPACE");
            System.exit(2);
        }
        commands.run(System.in, System.out);
        System.exit(0);
    }
}
