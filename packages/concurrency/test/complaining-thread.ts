process.stderr.write("something broke\n    here\n");
