build-clang/base/base/case/case.o: ref/base/case/case.c \
  ref/base/case/case.h ref/base/case/op.h ref/base/case/args.h \
  ref/base/format/matrix.h ref/base/num/dtype.h ref/base/num/real.h \
  ref/base/num/status.h ref/base/format/files.h ref/base/format/json.h

ref/base/case/case.h:

ref/base/case/op.h:

ref/base/case/args.h:

ref/base/format/matrix.h:

ref/base/num/dtype.h:

ref/base/num/real.h:

ref/base/num/status.h:

ref/base/format/files.h:

ref/base/format/json.h:
