import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Types;

/** What a tool with JDBC is told of bi: views and columns with types and descriptions. Arguments: URL, user, password,
 * number of views of the contract; a warehouse has more, by its custom fields. */
class Columns {
  public static void main(String[] args) throws Exception {
    try (Connection connection = DriverManager.getConnection(args[0], args[1], args[2])) {
      DatabaseMetaData about = connection.getMetaData();
      int views = 0;
      try (ResultSet view = about.getTables(null, "bi", "%", new String[] {"VIEW", "TABLE", "MATERIALIZED VIEW"})) {
        while (view.next()) {
          if (view.getString("REMARKS") == null) throw new Exception(view.getString("TABLE_NAME") + " has no description");
          views++;
        }
      }
      int columns = 0;
      try (ResultSet column = about.getColumns(null, "bi", "%", "%")) {
        while (column.next()) {
          String name = column.getString("TABLE_NAME") + "." + column.getString("COLUMN_NAME");
          int type = column.getInt("DATA_TYPE");
          if (type == Types.OTHER || type == Types.ARRAY) throw new Exception(name + " is " + column.getString("TYPE_NAME"));
          if (column.getString("REMARKS") == null) throw new Exception(name + " has no description");
          columns++;
        }
      }
      if (views < Integer.parseInt(args[3])) throw new Exception(views + " views, not " + args[3]);
      System.out.println(about.getDriverName() + " " + about.getDriverVersion() + ": " + views + " views, " + columns + " columns");
    }
  }
}
